// Numbers and times as text.

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function plural(number: number, one: string, many = one + "s"): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
}

// A duration: "12s", "5m", "3h", "2d", as kubectl prints ages.
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 2 * 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 2 * 86400) return `${Math.floor(whole / 3600)}h`;
  return `${Math.floor(whole / 86400)}d`;
}

export function age(time: string, now = Date.now()): string {
  return duration((now - Date.parse(time)) / 1000);
}

export function clock(time: string | number): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

export function bytes(number: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (number >= 1024 && unit + 1 < units.length) {
    number /= 1024;
    ++unit;
  }
  return `${number >= 100 || unit === 0 ? number.toFixed(0) : number.toFixed(1)} ${units[unit]}`;
}

// A short time: "3.2 µs", "1.5 ms".
export function shortTime(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(2)} ms`;
  return `${(seconds * 1e6).toFixed(1)} µs`;
}

export function rate(perSecond: number): string {
  return `${perSecond >= 10 ? count(Math.round(perSecond)) : perSecond.toFixed(1)}/s`;
}

// A quantity of Kubernetes: thousandths as a fraction ("1500m" as "1.5"), digits in groups.
export function amount(quantity: string): string {
  const found = /^(\d+)(m|[A-Za-z]*)$/.exec(quantity);
  if (found === null) return quantity;
  const number = Number(found[1]);
  return found[2] === "m" ? (number / 1000).toLocaleString("en-US") : count(number) + found[2];
}
