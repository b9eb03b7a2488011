/** Quantities of compute resources, as in `500m` or `1Gi`. */

const SUFFIX: Readonly<Record<string, number>> = {
  '': 1,
  n: 1e-9,
  u: 1e-6,
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
const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/;

/** The amount in base units, or undefined if the text is not a quantity. */
export function parseQuantity(text: string | number): number | undefined {
  const match = QUANTITY.exec(String(text));
  if (match === null) return undefined;
  const [, amount = '', exponent = '', suffix = ''] = match;
  const factor = SUFFIX[suffix];
  return factor === undefined ? undefined : Number(amount + exponent) * factor;
}
