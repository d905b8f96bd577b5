import { personName } from '../lib/format';
import { readOnly, self } from '../state/permissions';

// SignedIn says as whom the server knows the user, if it does.
export function SignedIn() {
  const user = self.value?.user;
  if (!user) return null;
  return (
    <p class="user" title={`Signed in as ${user}`}>
      <span class="hidden">Signed in as </span>
      {personName(user)}
    </p>
  );
}

// ReadOnly stands where buttons would be, and says why there are none.
export function ReadOnly() {
  return readOnly.value ? <p class="readonly">Read-only: start Reroll with --auth to act.</p> : null;
}
