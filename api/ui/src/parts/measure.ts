import { useEffect, useState } from 'preact/hooks';

const narrow = matchMedia('(max-width: 760px)');

// useNarrow tells whether the window is that of a phone.
export function useNarrow(): boolean {
  const [is, set] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => set(narrow.matches);
    narrow.addEventListener('change', changed);
    return () => narrow.removeEventListener('change', changed);
  }, []);
  return is;
}

// useRowHeight is the height of a row of the timeline; the style says the same.
export function useRowHeight(): number {
  return useNarrow() ? 92 : 54;
}
