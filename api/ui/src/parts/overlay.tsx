import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { views } from '../lib/views';
import { exactTimes, shortcuts } from '../state/settings';
import { Icon } from './glyph';

const keys: [string, string][] = [
  ['/', 'search'],
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'close, or leave the search'],
  ['?', 'this list'],
];

// Overlay lists the keys, and has the settings. Closing the dialog itself gives the focus back to where it was.
export function Overlay({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="overlay" aria-labelledby="keys" onClose={close} onClick={(e) => e.target === e.currentTarget && e.currentTarget.close()}>
      <div>
        <h2 id="keys">Keys</h2>
        <button class="plain close" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
        <dl>
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
          {views.map((v) => (
            <div key={v.key}>
              <dt>
                <kbd>g</kbd> <kbd>{v.key}</kbd>
              </dt>
              <dd>{v.name}</dd>
            </div>
          ))}
        </dl>
        <Setting of={shortcuts} text="Single-key shortcuts" />
        <Setting of={exactTimes} text="Show exact times" />
      </div>
    </dialog>
  );
}

function Setting({ of, text }: { of: Signal<boolean>; text: string }) {
  return (
    <label class="setting">
      <input type="checkbox" checked={of.value} onChange={(e) => (of.value = e.currentTarget.checked)} /> {text}
    </label>
  );
}
