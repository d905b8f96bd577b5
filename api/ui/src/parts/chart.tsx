import type { ComponentChildren } from 'preact';
import { duration, exact, shortDay, shortTime } from '../lib/format';
import type { Tone } from '../lib/outcome';
import { ticks } from '../lib/ticks';
import { Glyph } from './glyph';
import { Table } from './words';

// plot is where a chart draws inside its frame of 560 × 210.
const plot = { left: 68, top: 12, bottom: 182, width: 482, height: 170 };

interface FrameProps {
  title: string;
  // at is when each piece of time begins.
  at: string[];
  scale: number[];
  show: (value: number) => string;
  series: { name: string; tone: Tone; dashed?: boolean; said: string[] }[];
  children: ComponentChildren;
}

// Frame is what every chart has: a title, axes, a legend, and its numbers as a table for those who would rather read them.
function Frame({ title, at, scale, show, series, children }: FrameProps) {
  const top = scale[scale.length - 1]!;
  const long = Date.parse(at[at.length - 1] ?? '') - Date.parse(at[0] ?? '') > 36 * 3600_000;
  const marks = [0, 1, 2, 3].map((n) => Math.round((n * (at.length - 1)) / 3));
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <span class="legend">
          {series.map((s) => (
            <span key={s.name} class={`key ${s.tone} ${s.dashed ? 'dashed' : ''}`}>
              <i aria-hidden="true" />
              {s.tone === 'bad' && <Glyph tone="bad" />}
              {s.name}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox="0 0 560 210" role="img" aria-label={`${title}; the numbers are in the table below`}>
        {scale.map((v) => {
          const y = plot.bottom - (v / top) * plot.height;
          return (
            <g key={v} class="grid">
              <line x1={plot.left} x2={plot.left + plot.width} y1={y} y2={y} />
              <text x={plot.left - 8} y={y + 3.5} text-anchor="end">
                {show(v)}
              </text>
            </g>
          );
        })}
        {marks.map((i, n) => {
          const ms = Date.parse(at[i] ?? '');
          return (
            <text key={n} class="axis" x={plot.left + ((i + 0.5) * plot.width) / at.length} y={202} text-anchor={n === 0 ? 'start' : n === 3 ? 'end' : 'middle'}>
              {long ? `${shortDay(ms)} ${shortTime(ms)}` : shortTime(ms)}
            </text>
          );
        })}
        {children}
      </svg>
      <details>
        <summary>Numbers</summary>
        <Table short label={`${title}, numbers`} columns={['From', ...series.map((s) => s.name)]}>
          {at.map((start, i) => (
            <tr key={start}>
              <th scope="row">{exact(start)}</th>
              {series.map((s) => (
                <td class="num" key={s.name}>
                  {s.said[i]}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}

// Bars stacks what happened in each stretch of time.
export function Bars({ title, at, series }: { title: string; at: string[]; series: { name: string; tone: Tone; values: number[] }[] }) {
  const totals = at.map((_, i) => series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0));
  const scale = ticks(Math.max(1, ...totals), true);
  const top = scale[scale.length - 1]!;
  const wide = plot.width / at.length;
  return (
    <Frame title={title} at={at} scale={scale} show={(v) => v.toLocaleString('en')} series={series.map((s) => ({ ...s, said: s.values.map(String) }))}>
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

// Lines draws seconds over time: the first line solid, the second dashed. Where nothing was measured there is a gap.
export function Lines({ title, at, series }: { title: string; at: string[]; series: { name: string; values: (number | undefined)[] }[] }) {
  const scale = ticks(Math.max(0.001, ...series.flatMap((s) => s.values.filter((v) => v !== undefined))), false);
  const top = scale[scale.length - 1]!;
  const x = (i: number) => plot.left + ((i + 0.5) * plot.width) / at.length;
  const y = (v: number) => plot.bottom - (v / top) * plot.height;
  const path = (values: (number | undefined)[]) => values.map((v, i) => (v === undefined ? '' : `${values[i - 1] === undefined ? 'M' : 'L'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`)).join('');
  const said = (values: (number | undefined)[]) => values.map((v) => (v === undefined ? '–' : duration(v)));
  return (
    <Frame title={title} at={at} scale={scale} show={duration} series={series.map((s, i) => ({ name: s.name, tone: 'busy', dashed: i === 1, said: said(s.values) }))}>
      {series.map((s, n) => (
        <g key={s.name} class={n === 1 ? 'line dashed' : 'line'}>
          <path d={path(s.values)} />
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
