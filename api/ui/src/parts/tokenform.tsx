import { useState } from 'preact/hooks';
import { needsToken, token } from '../state/client';

// TokenForm asks for a bearer token. It is kept in memory, and gone when the page is. A token never crosses the network in clear: the browser
// counts https and the machine's own loopback as secure, and the form asks for nothing elsewhere.
export function TokenForm() {
  return window.isSecureContext ? <Ask /> : <Refusal />;
}

function Refusal() {
  return (
    <div class="box wait" role="alert">
      <h2>This page cannot take a token</h2>
      <p>It came over plain HTTP, and a token would cross the network in clear. Open it over https, or through kubectl port-forward at localhost.</p>
    </div>
  );
}

function Ask() {
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
