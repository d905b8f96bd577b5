// A parser of text/event-stream. The browser's own EventSource cannot send an Authorization header.

export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

// Parser takes the text of a stream piece by piece, cut anywhere, and returns the events that each piece completes.
export class Parser {
  private rest = '';
  private type = '';
  private data: string[] = [];
  private id = '';

  push(piece: string): ServerEvent[] {
    const text = this.rest + piece;
    // A lone \r at the end may be the first half of \r\n.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    const events: ServerEvent[] = [];
    for (const line of lines) {
      const event = this.line(line);
      if (event) events.push(event);
    }
    return events;
  }

  private line(line: string): ServerEvent | undefined {
    if (line === '') return this.flush();
    if (line.startsWith(':')) return undefined;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.type = value;
    if (field === 'data') this.data.push(value);
    if (field === 'id' && !value.includes('\0')) this.id = value;
    return undefined;
  }

  private flush(): ServerEvent | undefined {
    const { type, data, id } = this;
    this.type = '';
    this.data = [];
    return data.length === 0 ? undefined : { id, type: type || 'message', data: data.join('\n') };
  }
}
