import { useState } from 'preact/hooks';

const isCommand = (text: string): boolean => /^(reroll|kubectl) /.test(text);

// Command shows what to do next. A command can be copied, where the browser lets pages copy.
export function Command({ text }: { text: string }) {
  const [copied, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    set(true);
    setTimeout(() => set(false), 2_000);
  };
  return (
    <span class="command">
      <code>{text}</code>
      {isCommand(text) && window.isSecureContext && (
        <button class="small" aria-label={`Copy ${text}`} onClick={copy}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      )}
    </span>
  );
}
