import { useEffect, useRef } from 'preact/hooks';
import { views } from '../views/app';
import { Icon } from './glyph';

const keys: [string, string][] = [
  ['/', 'search'],
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'close, or leave the search'],
  ['?', 'this list'],
];

// Overlay lists the keys.
export function Overlay({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="overlay" aria-labelledby="keys" onClose={close} onClick={(e) => e.target === dialog.current && close()}>
      <div>
        <h2 id="keys">Keys</h2>
        <button class="plain close" aria-label="Close" onClick={close}>
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
      </div>
    </dialog>
  );
}
