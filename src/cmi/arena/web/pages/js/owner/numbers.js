// Numbers as the tables and charts write them; what is not defined is a dash.
export const DASH = "–";

export const number = (value, digits = 2) => (value === null || value === undefined ? DASH : value.toFixed(digits));
export const percent = (value, digits = 0) =>
  value === null || value === undefined ? DASH : `${(100 * value).toFixed(digits)} %`;

/** "0.31 – 0.52" of low and high. */
export function span(low, high, write = number) {
  return low === null || high === null || low === undefined ? DASH : `${write(low)} – ${write(high)}`;
}
