// pause waits, or throws when it is aborted. It leaves nothing behind on the signal.
export function pause(ms: number, abort?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(abort!.reason);
    };
    const timer = setTimeout(() => {
      abort?.removeEventListener('abort', ended);
      resolve();
    }, ms);
    if (abort?.aborted) ended();
    else abort?.addEventListener('abort', ended, { once: true });
  });
}
