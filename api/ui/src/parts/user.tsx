import { personName } from '../lib/format';
import { self } from '../state/self';

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
