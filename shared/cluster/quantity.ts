/**
 * Kubernetes quantities as numbers.
 * Owns: the suffixes (apimachinery `resource.Quantity`). Does not own: what is measured.
 */

/** Each step is a thousand times the one before; `""` is one. */
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** Each step is 1024 times the one before; `Ki` is 1024. */
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** In the unit that the quantity counts (bytes for memory); 0 for none, or for what is no quantity. */
export function quantity(text: string | undefined): number {
  return scaled(text, 0);
}

/** In thousandths of that unit, rounded up as Kubernetes does: 0.1 CPU is 100. */
export function milliQuantity(text: string): number {
  return Math.ceil(scaled(text, 3));
}

/**
 * Times a power of ten, which is put into the decimal number's own exponent: 0.1 times 1000 may be more than 100 in binary,
 * 0.1e3 is not.
 */
function scaled(text: string | undefined, tens: number): number {
  const [, number, exponent = "0", suffix = ""] =
    /^([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+))?([a-zA-Z]*)$/.exec(text ?? "") ?? [];
  const [thousands, factor] = scaleOf(suffix);
  const value = Number(`${number}e${Number(exponent) + 3 * thousands + tens}`) * factor;
  return Number.isFinite(value) ? value : 0;
}

function scaleOf(suffix: string): readonly [thousands: number, factor: number] {
  if (BINARY.includes(suffix)) return [0, 1024 ** (BINARY.indexOf(suffix) + 1)];
  return DECIMAL.includes(suffix) ? [DECIMAL.indexOf(suffix) - DECIMAL.indexOf(""), 1] : [0, Number.NaN];
}
