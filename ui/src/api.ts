// Requests to the scheduler's API.

const kRoot = "/apis/berth.dev/v1alpha1/";
const kMostCached = 8;

export class ApiError extends Error {
  // `status` 0: the scheduler did not respond. `retryAfter`: seconds.
  constructor(readonly status: number, message: string, readonly retryAfter = 0) {
    super(message);
  }
}

// Sends the token as an Authorization header only, and keeps it in this object only. Responses with an ETag are kept,
// so that an unchanged one is not transferred again.
export class Api {
  private readonly kept = new Map<string, { tag: string; value: unknown }>();

  constructor(private readonly token: string) {}

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const known = this.kept.get(path);
    const headers: Record<string, string> = { Accept: "application/json" };
    if (this.token !== "") headers["Authorization"] = `Bearer ${this.token}`;
    if (known !== undefined) headers["If-None-Match"] = known.tag;
    let response: Response, value: T;
    try {
      response = await fetch(kRoot + path, { headers, cache: "no-store", credentials: "omit", redirect: "error", signal: signal ?? null });
      if (response.status === 304 && known !== undefined) return known.value as T;
      if (!response.ok) throw await errorOf(response);
      value = (await response.json()) as T;
    } catch (error) {
      if (error instanceof ApiError || signal?.aborted) throw error;
      throw new ApiError(0, "the scheduler does not respond, or its response is not complete");
    }
    const tag = response.headers.get("ETag");
    this.kept.delete(path);
    if (tag !== null) this.kept.set(path, { tag, value });
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= kMostCached) break;
      this.kept.delete(oldest);
    }
    return value;
  }

  // null: the user may not read it.
  async getIfAllowed<T>(path: string, signal?: AbortSignal): Promise<T | null> {
    try {
      return await this.get<T>(path, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      return null;
    }
  }

  // The fuller view, or the smaller one if the user may only read that.
  async getEither<T>(fuller: string, smaller: string, signal?: AbortSignal): Promise<{ value: T; full: boolean }> {
    const value = await this.getIfAllowed<T>(fuller, signal);
    return value !== null ? { value, full: true } : { value: await this.get<T>(smaller, signal), full: false };
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const retryAfter = Number(response.headers.get("Retry-After") ?? 0);
  let message = "";
  try {
    message = String(((await response.json()) as { message?: unknown }).message ?? "");
  } catch {
    // Not a Status object: the number has to do.
  }
  return new ApiError(response.status, message || `the scheduler responded with status ${response.status}`, retryAfter);
}

export function podPath(namespace: string, name: string): string {
  return `pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
