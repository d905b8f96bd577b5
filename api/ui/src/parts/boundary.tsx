import { Component, type ComponentChildren } from 'preact';
import { Blank } from './states';

// Boundary keeps the page usable when a view cannot be drawn, such as an answer of a server that this dashboard does not know.
export class Boundary extends Component<{ children: ComponentChildren }, { failed: string }> {
  override state = { failed: '' };

  static getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <>
        <h1 class="hidden">Error</h1>
        <Blank title="This view cannot be shown" tone="bad" below={<button onClick={() => this.setState({ failed: '' })}>Try again</button>}>
          The dashboard does not understand an answer of the server: {this.state.failed}
        </Blank>
      </>
    );
  }
}
