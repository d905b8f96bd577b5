import { duration } from '../lib/format';
import { ticks } from '../lib/ticks';
import { Frame, plot } from './frame';

export interface Line {
  name: string;
  values: (number | undefined)[];
}

// Lines draws seconds over time: the first line solid, the second dashed. Where nothing was measured there is a gap.
export function Lines({ title, at, series }: { title: string; at: string[]; series: [Line, Line] }) {
  const scale = ticks(Math.max(0.001, ...series.flatMap((s) => s.values.filter((v) => v !== undefined))), false);
  const top = scale[scale.length - 1]!;
  const x = (i: number) => plot.left + ((i + 0.5) * plot.width) / at.length;
  const y = (v: number) => plot.bottom - (v / top) * plot.height;
  const legend = series.map((s, i) => ({ name: s.name, tone: 'busy' as const, dashed: i === 1 }));
  const rows = series.map((s) => ({ name: s.name, values: s.values.map((v) => (v === undefined ? '–' : duration(v))) }));
  return (
    <Frame title={title} at={at} scale={scale} show={duration} legend={legend} rows={rows}>
      {series.map((s, n) => (
        <g key={s.name} class={n === 1 ? 'line dashed' : 'line'}>
          <path d={path(s.values, x, y)} />
          {s.values.map((v, i) =>
            v === undefined ? null : (
              <circle key={i} cx={x(i)} cy={y(v)} r={n === 1 ? 1.6 : 2.4}>
                <title>{`${s.name} ${duration(v)}`}</title>
              </circle>
            ),
          )}
        </g>
      ))}
    </Frame>
  );
}

function path(values: (number | undefined)[], x: (i: number) => number, y: (v: number) => number): string {
  let pen = 'M';
  let d = '';
  values.forEach((v, i) => {
    if (v === undefined) {
      pen = 'M';
      return;
    }
    d += `${pen}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = 'L';
  });
  return d;
}
