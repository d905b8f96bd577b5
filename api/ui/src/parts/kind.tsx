const marks: Record<string, string> = { ConfigMap: 'CM', Secret: 'SEC', SecretProviderClass: 'SPC' };

// Kind is the short mark of a kind of config.
export function Kind({ kind }: { kind: string }) {
  return (
    <abbr class="kind" title={kind}>
      {marks[kind] ?? kind}
    </abbr>
  );
}
