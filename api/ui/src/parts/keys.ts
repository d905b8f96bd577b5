import { useEffect } from 'preact/hooks';
import { views } from '../lib/views';
import { amend, go, route } from '../state/router';
import { shortcuts } from '../state/settings';

const chordTime = 1200;

// useKeys listens for the keys of the whole page: / j k Esc ? and g with a letter. Esc alone works where shortcuts are switched off.
export function useKeys(help: () => void): void {
  useEffect(() => {
    let chord = 0;
    const pressed = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
      if (e.key === 'Escape') return escape();
      if (!shortcuts.peek() || isTyping(e.target)) return;
      const inChord = Date.now() - chord < chordTime;
      chord = 0;
      if (inChord) {
        const view = views.find((v) => v.key === e.key);
        if (view) go(view.path ? [view.path] : []);
        return;
      }
      switch (e.key) {
        case 'g':
          chord = Date.now();
          return;
        case '?':
          return help();
        case '/':
          e.preventDefault();
          document.getElementById('search')?.focus();
          return;
        case 'j':
          return step(1);
        case 'k':
          return step(-1);
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLElement && target.matches('input, select, textarea');

function escape(): void {
  const focused = document.activeElement;
  if (focused instanceof HTMLInputElement) focused.blur();
  else if (route.value.query.get('open')) amend({ open: '' });
}

// step moves the focus to a row beside the focused one, or to the first in sight.
function step(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const box = document.querySelector('[data-virtual]')?.getBoundingClientRect();
  const first = rows.findIndex((r) => !box || r.getBoundingClientRect().top >= box.top - 1);
  const next = rows[at < 0 ? first : at + by];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
}
