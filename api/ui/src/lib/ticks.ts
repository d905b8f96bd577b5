// ticks returns round values from 0 to one that is a little above most, about four of them: what touches the top looks cut off.
export function ticks(most: number, whole: boolean): number[] {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const round = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999) ?? rough;
  const step = whole ? Math.max(1, Math.ceil(round)) : round;
  const count = Math.ceil((most * 1.04) / step - 1e-9);
  return Array.from({ length: Math.max(1, count) + 1 }, (_, i) => i * step);
}
