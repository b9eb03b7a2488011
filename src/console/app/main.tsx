/** Starts the console. */
import './styles.css';
import { render } from 'preact';
import { Shell } from './components/shell.tsx';
import { startNavigation } from './location.ts';
import { applyColorScheme } from './memory.ts';
import { loadResources } from './resources.ts';
import { showControlCharacters } from './visible-text.ts';

applyColorScheme();
showControlCharacters();
startNavigation();
void loadResources();
const root = document.querySelector('#console');
if (root !== null) {
  root.replaceChildren();
  render(<Shell />, root);
}
