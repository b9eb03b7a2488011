/** Problems as text, JSON, SARIF, annotations of GitHub and a code quality report of GitLab. */
import { createHash } from 'node:crypto';
import { shownPath, terminalJson, terminalText } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';

export interface Finding extends Problem {
  readonly severity: 'error' | 'warning';
}

export const REPORT_FORMATS = ['text', 'json', 'sarif', 'github', 'gitlab'] as const;

export type ReportFormat = (typeof REPORT_FORMATS)[number];

type Formatter = (findings: readonly Finding[], files: number) => string;

const FORMATTERS: Record<ReportFormat, Formatter> = {
  text: formatText,
  json: (findings, files) => terminalJson({ files, problems: findings }),
  sarif: (findings) => terminalJson(sarif(findings)),
  github: (findings) => findings.map(githubCommand).join('\n'),
  gitlab: (findings) => terminalJson(codeQuality(findings)),
};

/** `files`: number of files read. The text ends without a newline. */
export function formatReport(
  format: ReportFormat,
  findings: readonly Finding[],
  files: number,
): string {
  return FORMATTERS[format](findings, files);
}

function formatText(findings: readonly Finding[], files: number): string {
  const lines = findings.map(({ path, line, col, message, severity }) => {
    const mark = severity === 'warning' ? 'warning: ' : '';
    return `${shownPath(path)}:${line}:${col}: ${mark}${message}`;
  });
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const verdict = errors === 0 ? 'no errors' : plural(errors, 'error');
  return terminalText([...lines, `${plural(files, 'file')} read, ${verdict}`].join('\n'));
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A workflow command of GitHub Actions: shown beside the line in a pull request. */
function githubCommand({ path, line, col, message, severity }: Finding): string {
  const properties = [`file=${escapeProperty(path)}`, `line=${line}`, `col=${col}`].join(',');
  return `::${severity} ${properties}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** The fingerprint has no line, so that a problem that only moved is not a new one. */
function codeQuality(findings: readonly Finding[]): object[] {
  const seen = new Map<string, number>();
  return findings.map(({ path, line, message, severity }) => {
    const same = JSON.stringify([path, message]);
    const count = seen.get(same) ?? 0;
    seen.set(same, count + 1);
    return {
      description: message,
      check_name: 'gitplane',
      fingerprint: createHash('sha256').update(`${same} ${count}`).digest('hex'),
      severity: severity === 'error' ? 'major' : 'minor',
      location: { path, lines: { begin: line } },
    };
  });
}

/** SARIF 2.1.0 (OASIS), the least that code-scanning services accept. */
function sarif(findings: readonly Finding[]): object {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'gitplane',
            informationUri: 'https://gitplane.dev',
            rules: [
              { id: 'manifest', shortDescription: { text: 'A manifest that gitplane refuses' } },
            ],
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map(({ path, line, col, message, severity }) => ({
          ruleId: 'manifest',
          level: severity,
          message: { text: message },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: path.split('/').map(encodeURIComponent).join('/') },
                region: { startLine: line, startColumn: col },
              },
            },
          ],
        })),
      },
    ],
  };
}
