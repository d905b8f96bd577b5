import { useState } from 'preact/hooks';
import { needsToken, session } from '../state/api';

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
  const refused = session.value.token !== '';
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    needsToken.value = false;
    session.value = { token: text.trim() };
  };
  return (
    <form class="box wait" onSubmit={submit}>
      <h2>Sign in with a token</h2>
      {refused && (
        <p class="wrong" role="alert">
          The server did not accept this token.
        </p>
      )}
      <p id="token-what">Reroll accepts what the API server accepts, such as the token of a service account. This page keeps it in memory until it is closed.</p>
      <div class="line">
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" aria-describedby="token-what" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        <button disabled={text.trim() === ''}>Sign in</button>
      </div>
    </form>
  );
}
