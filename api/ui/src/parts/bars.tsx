import type { Tone } from '../lib/outcome';
import { ticks } from '../lib/ticks';
import { exact } from '../lib/format';
import { Frame, plot } from './frame';

export interface Series {
  name: string;
  tone: Tone;
  values: number[];
}

// Bars stacks what happened in each stretch of time.
export function Bars({ title, at, series }: { title: string; at: string[]; series: Series[] }) {
  const totals = at.map((_, i) => series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0));
  const scale = ticks(Math.max(1, ...totals), true);
  const top = scale[scale.length - 1]!;
  const wide = plot.width / at.length;
  return (
    <Frame title={title} at={at} scale={scale} show={(v) => v.toLocaleString('en')} legend={series.map((s) => ({ name: s.name, tone: s.tone }))} rows={series}>
      {at.map((start, i) => {
        let y = plot.bottom;
        return (
          <g key={start}>
            <title>{`${exact(start)}: ${series.map((s) => `${s.values[i]} ${s.name}`).join(', ')}`}</title>
            {series.map((s) => {
              const height = ((s.values[i] ?? 0) / top) * plot.height;
              y -= height;
              return height > 0 ? <rect key={s.name} class={`fill ${s.tone}`} x={plot.left + i * wide + 1} y={y} width={Math.max(1, wide - 2)} height={height} rx="1" /> : null;
            })}
            <rect class="hit" x={plot.left + i * wide} y={plot.top} width={wide} height={plot.height} />
          </g>
        );
      })}
    </Frame>
  );
}
