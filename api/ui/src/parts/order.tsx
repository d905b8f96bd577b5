import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, giveUpText } from '../lib/fault';
import { type Answers, type Field, lasting, type Order } from '../lib/orders';
import { done, give, newKey } from '../state/commands';
import { Icon } from './glyph';

// OrderButton asks whether an order is meant, and has it carried out.
export function OrderButton({ order, small }: { order: Order; small?: boolean }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button class={small ? 'small' : ''} aria-haspopup="dialog" onClick={() => setAsking(true)}>
        {order.label}
      </button>
      {asking && <Question order={order} close={() => setAsking(false)} />}
    </>
  );
}

const blank = (order: Order): Answers => ({ reason: '', namespace: '', selector: '', until: order.fields.includes('untilOrEver') ? '' : '3600' });

function Question({ order, close }: { order: Order; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [answers, setAnswers] = useState(() => blank(order));
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const [key] = useState(newKey);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFault(undefined);
    const failed = await give(order, answers, key);
    setBusy(false);
    if (failed) setFault(failed);
    else dialog.current?.close();
  };
  return (
    <dialog ref={dialog} class="overlay" aria-labelledby="order" aria-describedby="order-what" onClose={close}>
      <form onSubmit={submit} aria-busy={busy}>
        <h2 id="order">{order.title}</h2>
        <p id="order-what">{order.what}</p>
        {order.fields.map((field) => (
          <Line key={field} field={field} answers={answers} set={(more) => setAnswers({ ...answers, ...more })} />
        ))}
        {fault && (
          <p class="wrong" role="alert">
            {giveUpText(fault)}
          </p>
        )}
        <div class="choices">
          {busy && <progress aria-label={order.doing} />}
          <button type="button" onClick={() => dialog.current?.close()}>
            {busy ? 'Close' : 'Cancel'}
          </button>
          <button class="main" disabled={busy}>
            {busy ? order.doing : fault ? 'Try again' : order.label.replace('…', '')}
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface LineProps {
  field: Field;
  answers: Answers;
  set: (more: Partial<Answers>) => void;
}

function Line({ field, answers, set }: LineProps) {
  switch (field) {
    case 'until':
    case 'untilOrEver':
      return (
        <label>
          For
          <select value={answers.until} onChange={(e) => set({ until: e.currentTarget.value })}>
            {field === 'untilOrEver' && <option value="">as long as nobody thaws it</option>}
            {lasting.map(([seconds, words]) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ))}
          </select>
        </label>
      );
    case 'namespace':
      return <Text name="Namespace" hint="all, if empty" most={63} value={answers.namespace} set={(namespace) => set({ namespace })} />;
    case 'selector':
      return <Text name="Only with these labels" hint="such as app=cart; all, if empty" most={512} value={answers.selector} set={(selector) => set({ selector })} />;
    case 'reason':
      return <Text name="Why" hint="for those who ask; may be left out" most={256} value={answers.reason} set={(reason) => set({ reason })} />;
  }
}

function Text({ name, hint, most, value, set }: { name: string; hint: string; most: number; value: string; set: (text: string) => void }) {
  return (
    <label>
      {name}
      <input value={value} maxLength={most} placeholder={hint} autocomplete="off" spellcheck={false} onInput={(e) => set(e.currentTarget.value)} />
    </label>
  );
}

const longEnough = 12_000;

// DoneNote says what was carried out last, until it is closed or was there for long enough to be read.
export function DoneNote() {
  const last = done.value;
  useEffect(() => {
    if (!last) return;
    const timer = setTimeout(() => {
      if (done.peek() === last) done.value = undefined;
    }, longEnough);
    return () => clearTimeout(timer);
  }, [last]);
  if (!last) return null;
  return (
    <aside class="note" aria-label="Done">
      <span>{last.text}</span>
      <button class="plain" aria-label="Close" onClick={() => (done.value = undefined)}>
        <Icon name="close" />
      </button>
    </aside>
  );
}
