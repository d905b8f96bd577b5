import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

// spare is how many rows are drawn above and below what is in sight.
const spare = 8;

export interface VirtualProps<T> {
  label: string;
  items: readonly T[];
  keyOf: (item: T) => string;
  // height is that of every row, in pixels.
  height: number;
  // complete says whether items is all there is; otherwise their number is told as not known.
  complete: boolean;
  render: (item: T) => ComponentChildren;
  // near is called when the end of items comes in sight, and again for other items while it is.
  near: () => void;
  // away is told whether the top is out of sight.
  away?: (away: boolean) => void;
  // head stays above the rows when they scroll.
  head?: ComponentChildren;
}

// Virtual is a list that draws the rows in sight alone, however many there are. When rows come in above, what is in sight stays put.
export function Virtual<T>(p: VirtualProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(800);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setRoom(entry.contentRect.height));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useAnchor(box, p);

  const first = Math.max(0, Math.floor(top / p.height) - spare);
  const last = Math.min(p.items.length, Math.ceil((top + room) / p.height) + spare);
  useEffect(() => {
    if (last >= p.items.length - spare) p.near();
  }, [last, p.items, p.complete]);

  const scrolled = () => {
    const at = box.current?.scrollTop ?? 0;
    setTop(at);
    p.away?.(at > p.height);
  };
  return (
    <div class="virtual" ref={box} onScroll={scrolled} data-virtual>
      {p.head}
      <ol aria-label={p.label} style={{ height: `${p.items.length * p.height}px` }}>
        {p.items.slice(first, last).map((item, i) => (
          <li
            key={p.keyOf(item)}
            aria-setsize={p.complete ? p.items.length : -1}
            aria-posinset={first + i + 1}
            style={{ height: `${p.height}px`, transform: `translateY(${(first + i) * p.height}px)` }}
          >
            {p.render(item)}
          </li>
        ))}
      </ol>
    </div>
  );
}

// useAnchor keeps the row at the upper edge where it is when others come in above it, unless the list is at its top.
function useAnchor<T>(box: { current: HTMLDivElement | null }, p: VirtualProps<T>): void {
  const before = useRef<readonly T[]>([]);
  const height = useRef(p.height);
  useLayoutEffect(() => {
    const old = before.current;
    const element = box.current;
    const sameHeight = height.current === p.height;
    before.current = p.items;
    height.current = p.height;
    if (!element || old === p.items || !sameHeight || element.scrollTop <= p.height) return;
    const edge = old[Math.floor(element.scrollTop / p.height)];
    if (edge === undefined) return;
    const was = old.indexOf(edge);
    const key = p.keyOf(edge);
    const is = p.items.findIndex((item) => p.keyOf(item) === key);
    if (is > was) element.scrollTop += (is - was) * p.height;
  });
}
