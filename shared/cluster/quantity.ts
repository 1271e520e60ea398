/**
 * Kubernetes quantities as numbers.
 * Owns: the suffixes (apimachinery `resource.Quantity`). Does not own: what is measured.
 */

/** The power of ten, or the factor. */
const SUFFIX: ReadonlyMap<string, readonly [tens: number, factor: number]> = new Map([
  ["n", [-9, 1]],
  ["u", [-6, 1]],
  ["m", [-3, 1]],
  ["", [0, 1]],
  ["k", [3, 1]],
  ["M", [6, 1]],
  ["G", [9, 1]],
  ["T", [12, 1]],
  ["P", [15, 1]],
  ["E", [18, 1]],
  ["Ki", [0, 2 ** 10]],
  ["Mi", [0, 2 ** 20]],
  ["Gi", [0, 2 ** 30]],
  ["Ti", [0, 2 ** 40]],
  ["Pi", [0, 2 ** 50]],
  ["Ei", [0, 2 ** 60]],
]);

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
  const [power, factor] = SUFFIX.get(suffix) ?? [0, Number.NaN];
  const value = Number(`${number}e${Number(exponent) + power + tens}`) * factor;
  return Number.isFinite(value) ? value : 0;
}
