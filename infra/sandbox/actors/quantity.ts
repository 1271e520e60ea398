/**
 * Kubernetes' quantities (`100m`, `1.5Gi`, `1e3`) as numbers.
 * Owns: reading and printing them. Does not own: what is measured.
 */
const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
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

export function parseQuantity(quantity: string | number): number {
  const { number, suffix = "" } =
    /^(?<number>[+-]?[\d.]+(?:[eE][+-]?\d+)?)(?<suffix>[numkMGTPE]|[KMGTPE]i)?$/.exec(String(quantity))?.groups ?? {};
  const factor = FACTORS[suffix];
  const value = Number(number);
  if (factor === undefined || Number.isNaN(value)) throw new Error(`"${quantity}" is not a quantity`);
  return value * factor;
}

/** As the kubelet prints amounts of memory. */
export function inKi(bytes: number): string {
  return `${Math.round(bytes / 1024)}Ki`;
}
