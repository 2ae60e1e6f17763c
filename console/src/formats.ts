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
export function count(number: number, noun: string, plural = noun + "s"): string {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
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

/** Text cut to at most so many characters, with an ellipsis for the rest. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most - 1).trimEnd() + "…";
}

/** A date and time: `21 Nov 2026, 17:04:51`. */
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

/** Text with invisible characters, and those that change the direction of writing, as escapes. */
export function exact(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (letter) =>
      letter === "\n" || letter === "\t"
        ? letter
        : `\\u{${letter.codePointAt(0)!.toString(16).padStart(4, "0")}}`,
  );
}

/** Indented JSON with invisible characters as escapes; it parses to the same value. */
export function exactJson(value: unknown): string {
  const json = JSON.stringify(value, null, 2) ?? "null";
  return json.replace(UNPRINTABLE, (letter) =>
    letter === "\n" ? letter : Array.from(
      { length: letter.length },
      (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""));
}

/** Return a text with its first letter in upper case. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Return the name of a flow for people: "work-order" is "Work order". */
export function flowName(flow: string): string {
  return capitalized(flow.replaceAll("-", " "));
}
