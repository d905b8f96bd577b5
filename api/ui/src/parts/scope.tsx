import { useState } from 'preact/hooks';
import { amend, route, scope } from '../state/router';

// show has the page show one namespace alone, or all. What was pressed for that goes away, so the focus goes to what comes instead.
function show(namespace: string): void {
  amend({ in: namespace, namespace: '' });
  document.getElementById('main')?.focus();
}

// word is what a name may be, with blanks around it.
const word = '\\s*\\S+\\s*';

// ScopeForm lets those who may not look into every namespace name one that they may look into.
export function ScopeForm() {
  const [text, setText] = useState(scope.value);
  const submit = (event: Event) => {
    event.preventDefault();
    show(text.trim());
  };
  return (
    <form class="line scope" onSubmit={submit}>
      <label for="scope">A namespace that you may look into</label>
      <input
        id="scope"
        value={text}
        maxLength={63}
        required
        pattern={word}
        title="The name of a namespace"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <button class="main">Show it</button>
    </form>
  );
}

// ScopeNote says that a view shows one namespace alone. The page of one thing does not, and clusters are in none.
export function ScopeNote() {
  const { path } = route.value;
  if (!scope.value || path.length > 1 || path[0] === 'clusters') return null;
  return (
    <p class="scoped">
      <span>
        Only namespace <b>{scope.value}</b>
      </span>
      <button class="plain" onClick={() => show('')}>
        Show all
      </button>
    </p>
  );
}
