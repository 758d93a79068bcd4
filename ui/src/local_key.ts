// The key of `kubectl berth ui`, which is in the address that the command prints: "#key=...".

export const kLocalKey = "berth-ui-key";

// Removes the key from the address. It stays in the storage of this tab, so that the page can be loaded again; the key
// is of no use when the command has ended. Tokens of a cluster are not stored.
export function takeLocalKey(): string | null {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (found === null) return sessionStorage.getItem(kLocalKey);
  const key = found[1] as string;
  sessionStorage.setItem(kLocalKey, key);
  history.replaceState(null, "", location.pathname);
  return key;
}
