import type { ComponentChildren } from 'preact';
import { exact, shortDay, shortTime } from '../lib/format';
import type { Tone } from '../lib/outcome';
import { Glyph } from './glyph';

const size = { width: 560, height: 210 };
// plot is where a chart draws inside its frame.
export const plot = { left: 68, top: 12, bottom: 182, width: 482, height: 170 };

interface FrameProps {
  title: string;
  at: string[];
  scale: number[];
  show: (value: number) => string;
  legend: { name: string; tone: Tone; dashed?: boolean }[];
  rows: { name: string; values: (number | string)[] }[];
  children: ComponentChildren;
}

// Frame is what every chart has: a title, axes, a legend, and its numbers as a table for those who would rather read them.
export function Frame({ title, at, scale, show, legend, rows, children }: FrameProps) {
  const top = scale[scale.length - 1]!;
  const long = Date.parse(at[at.length - 1] ?? '') - Date.parse(at[0] ?? '') > 36 * 3600_000;
  const marks = [0, 1, 2, 3].map((n) => Math.round((n * (at.length - 1)) / 3));
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <span class="legend">
          {legend.map((l) => (
            <span key={l.name} class={`key ${l.tone} ${l.dashed ? 'dashed' : ''}`}>
              <i aria-hidden="true" />
              {l.tone === 'bad' && <Glyph tone="bad" />}
              {l.name}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${size.width} ${size.height}`} role="img" aria-label={`${title}; the numbers are in the table below`}>
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
            <text key={n} class="axis" x={plot.left + ((i + 0.5) * plot.width) / at.length} y={size.height - 8} text-anchor={n === 0 ? 'start' : n === 3 ? 'end' : 'middle'}>
              {long ? `${shortDay(ms)} ${shortTime(ms)}` : shortTime(ms)}
            </text>
          );
        })}
        {children}
      </svg>
      <details>
        <summary>Numbers</summary>
        <div class="scroll short" tabIndex={0} role="region" aria-label={`${title}, numbers`}>
          <table>
            <thead>
              <tr>
                <th scope="col">From</th>
                {rows.map((r) => (
                  <th scope="col" key={r.name}>
                    {r.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {at.map((start, i) => (
                <tr key={start}>
                  <th scope="row">{exact(start)}</th>
                  {rows.map((r) => (
                    <td class="num" key={r.name}>
                      {r.values[i]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
