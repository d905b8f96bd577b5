import { useState } from 'preact/hooks';
import { needsToken, token } from '../state/client';

// TokenForm asks for a bearer token. It is kept in memory, and gone when the page is.
export function TokenForm() {
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    needsToken.value = false;
    token.value = text.trim();
  };
  return (
    <form class="box wait" onSubmit={submit}>
      <h2>The server wants to know who is asking</h2>
      <p>
        <label for="token">A token that it accepts, such as of a service account. It is kept until this page is closed, and nowhere else.</label>
      </p>
      <p class="line">
        <input id="token" type="password" autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        <button disabled={text.trim() === ''}>Use it</button>
      </p>
    </form>
  );
}
