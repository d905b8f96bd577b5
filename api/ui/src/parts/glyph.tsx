import type { Tone } from '../lib/outcome';

// A shape of its own for every tone, so that none is told by colour alone.
const shapes: Record<Tone, string> = {
  good: 'M3.5 8.6 6.6 11.6 12.6 4.8',
  busy: 'M12.6 8a4.6 4.6 0 1 1-1.5-3.4M12.8 2.6v2.6h-2.6',
  wait: 'M5.9 4v8M10.1 4v8',
  bad: 'M4.4 4.4l7.2 7.2M11.6 4.4l-7.2 7.2',
  calm: 'M4 8h8',
};

export function Glyph({ tone }: { tone: Tone }) {
  return (
    <svg class={`glyph ${tone}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={shapes[tone]} />
    </svg>
  );
}

const icons = {
  timeline: 'M3 3v10M3 4.5h9.5M3 8h6.5M3 11.5h8',
  workloads: 'M8 1.8 13.6 5v6L8 14.2 2.4 11V5zM2.6 5.1 8 8.2l5.4-3.1M8 8.2v5.8',
  impact:
    'M3.8 8h2c3 0 2-4.6 5-4.6h1.4M5.8 8c3 0 2 4.6 5 4.6h1.4M3.8 8a1.2 1.2 0 1 1-2.4 0 1.2 1.2 0 0 1 2.4 0M14.6 3.4a1.2 1.2 0 1 1-2.4 0 1.2 1.2 0 0 1 2.4 0M14.6 12.6a1.2 1.2 0 1 1-2.4 0 1.2 1.2 0 0 1 2.4 0',
  attention: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4M8 4.8v3.8M8 11.1h.01',
  clusters: 'M2.4 2.8h11.2v4H2.4zM2.4 9.2h11.2v4H2.4zM5 4.8h.1M5 11.2h.1',
  charts: 'M2.4 13.4h11.2M4.2 13V9.4M7 13V5.6M9.8 13V7.6M12.6 13V3',
  light: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1.4v1.2M8 13.4v1.2M1.4 8h1.2M13.4 8h1.2M3.3 3.3l.9.9M11.8 11.8l.9.9M12.7 3.3l-.9.9M4.2 11.8l-.9.9',
  dark: 'M13.4 9.6A5.8 5.8 0 0 1 6.4 2.6a5.8 5.8 0 1 0 7 7',
  system: 'M2.2 3h11.6v7.6H2.2zM5.6 13.4h4.8M8 10.6v2.8',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 11.6a4.6 4.6 0 1 0 0-9.2 4.6 4.6 0 0 0 0 9.2M10.4 10.4l3.4 3.4',
} as const;

export type IconName = keyof typeof icons;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
