// Times, money and counts in words, as on the command line.

/** A duration: `0.9 s`, `42 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

/** How long ago something was, in one unit. */
export function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  for (const [unit, size] of [["d", 86_400], ["h", 3_600], ["min", 60]] as const) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${seconds} s`;
}

/** US dollars: `$1.50`, and small sums to two significant digits, `$0.0042`. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "cost unknown";
  if (usd === 0) return "$0";
  if (usd >= 0.1) {
    return "$" + usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  }
  const digits = Math.max(2, Math.min(9, 1 - Math.floor(Math.log10(usd))));
  const [whole, rest = ""] = usd.toFixed(digits).split(".");
  return `$${whole}.${rest.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** A number and what it counts: `1 order`, `3 orders`. */
export function count(number: number, thing: string, things = thing + "s"): string {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : things}`;
}

/** A number of bytes: `512 B`, `1.2 MB`. */
export function bytes(number: number): string {
  if (number < 1000) return `${number} B`;
  let size = number;
  let unit = "";
  for (unit of ["kB", "MB", "GB", "TB"]) {
    size /= 1000;
    if (size < 999.5) break;
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size).toLocaleString("en")} ${unit}`;
}

/** Text cut to so many characters, an ellipsis in place of what is missing. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most - 1).trimEnd() + "…";
}

/** A moment as people read it here: `21 Nov 2026, 17:04:51`. */
export function moment(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text in which nothing hides: what does not print, or turns the direction of writing, is spelled out. */
export function exact(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (letter) =>
      letter === "\n" || letter === "\t"
        ? letter
        : `\\u{${letter.codePointAt(0)!.toString(16).padStart(4, "0")}}`,
  );
}

/** JSON, indented, in which nothing hides and which reads back as the same value. */
export function exactJson(value: unknown): string {
  const written = JSON.stringify(value, null, 2) ?? "null";
  return written.replace(UNPRINTABLE, (letter) =>
    letter === "\n" ? letter : Array.from(
      { length: letter.length },
      (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""));
}

/** Return a text with its first letter in upper case. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
