import { useState } from 'preact/hooks';
import { refText } from '../lib/format';
import { wordsOf } from '../lib/outcome';
import type { Config, Explanation } from '../lib/types';
import { Kind } from '../parts/kind';
import { Time } from '../parts/time';
import { Glyph } from '../parts/glyph';
import { changeHref } from '../state/router';

// Explain says for each config of a workload, step by step, why it rolls or does not.
export function Explain({ items }: { items: Explanation[] }) {
  return (
    <section>
      <h2>Why, step by step</h2>
      {items.length === 0 ? <p class="faint">It asks for no config.</p> : <Choose items={items} />}
    </section>
  );
}

function Choose({ items }: { items: Explanation[] }) {
  // What is not up to date is what somebody came for.
  const urgent = items.findIndex((x) => x.state !== 'UpToDate');
  const [chosen, choose] = useState(Math.max(0, urgent));
  const x = items[Math.min(chosen, items.length - 1)]!;
  return (
    <div class="explain">
      <div class="tabs" role="group" aria-label="Config to explain">
        {items.map((item, i) => (
          <button key={`${item.config.cluster ?? ''}/${refText(item.config)}`} aria-pressed={item === x} onClick={() => choose(i)}>
            <Kind kind={item.config.kind} /> <Whose config={item.config} items={items} />
            {item.config.name}
          </button>
        ))}
      </div>
      <p class="verdict">
        <b>{wordsOf(x.state)}</b>
        {x.reason && <span class="faint"> {wordsOf(x.reason)}</span>}
      </p>
      <ol class="steps">
        {x.steps.map((s, i) => (
          <li key={i} class={s.result.toLowerCase()}>
            <Glyph tone={toneOfStep(s.result, x.state)} />
            <div>
              <b>{stepNames[s.step] ?? wordsOf(s.step)}</b> <span class="faint">{s.result.toLowerCase()}</span>
              <p>{s.message}</p>
              {s.clause && <p class="mono faint">{s.clause}</p>}
              {(s.at || s.change) && (
                <p class="faint">
                  {s.at && <Time at={s.at} />} {s.change && <a href={changeHref(s.change)}>the change</a>}
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}

// Whose says where a config is that is not the only one of its kind and name, or that is another cluster's.
function Whose({ config, items }: { config: Config; items: Explanation[] }) {
  const alike = items.filter((x) => x.config.kind === config.kind && x.config.name === config.name);
  if (alike.length === 1 && !config.cluster) return null;
  return <span class="ns">{[config.cluster, config.namespace, ''].filter((part) => part !== undefined).join('/')}</span>;
}

const stepNames: Record<string, string> = {
  OptIn: 'Is it opted in?',
  Rule: 'Does an annotation ask for the config?',
  Use: 'How is it used?',
  Change: 'Has it changed?',
  Content: 'Is the workload at the newest content?',
  Brakes: 'Does something hold it back?',
  Outcome: 'What became of it?',
};

// A stop is good news where it says that there is nothing left to do.
function toneOfStep(result: string, state: string) {
  if (result === 'Passed') return 'good' as const;
  if (result === 'Noted') return 'calm' as const;
  return state === 'UpToDate' ? ('good' as const) : ('wait' as const);
}
