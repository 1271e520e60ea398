/**
 * Kubernetes quantities as numbers.
 * Owns: the suffixes (apimachinery `resource.Quantity`). Does not own: what is measured.
 */

const SUFFIX: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** In the unit that the quantity counts (bytes for memory); 0 for none, or for what is no quantity. */
export function quantity(text: string | undefined): number {
  const [, number, suffix = ""] = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(text ?? "") ?? [];
  const factor = Object.hasOwn(SUFFIX, suffix) ? SUFFIX[suffix] : undefined;
  const value = Number(number) * (factor ?? Number.NaN);
  return Number.isFinite(value) ? value : 0;
}
