/** A component whose code is loaded when it is first shown. */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { errorOf } from '../load.ts';
import { ErrorNotice, Loading } from './parts.tsx';

export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => JSX.Element {
  let loaded: ComponentType<Props> | undefined;
  return (props) => {
    const [state, setState] = useState<{ error?: Error }>({});
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (component) => {
          loaded = component;
          setState({});
        },
        (error: unknown) => setState({ error: errorOf(error) }),
      );
    }, []);
    if (state.error !== undefined) {
      return <ErrorNotice title="This part cannot be loaded" error={state.error} />;
    }
    const Loaded = loaded;
    return Loaded === undefined ? <Loading /> : <Loaded {...props} />;
  };
}
