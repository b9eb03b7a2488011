/** Names of the objects that a pull creates. */
import { dnsSubdomainProblems } from '../apimachinery/index.ts';

/**
 * The name from a template; `path` is relative to the path of the pull. Invalid characters become
 * `-`.
 */
export function nameOf(template: string, path: string): string {
  const own = path.slice(path.lastIndexOf('/') + 1);
  return template
    .replace(/\{(path|name)\}/g, (_all, part) => (part === 'path' ? path : own))
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '');
}

/** Undefined: the name is valid. */
export function nameProblem(name: string): string | undefined {
  const [problem] = dnsSubdomainProblems(name);
  return (
    problem && `its name would be ${JSON.stringify(name)}, which no object can have: ${problem}`
  );
}
