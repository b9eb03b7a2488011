/** Completion scripts, run by the shells themselves. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { COMMAND_TABLE } from '../../src/options/command-table.ts';
import { completionScript, readShell } from '../../src/options/completion.ts';
import { parseOptions } from '../../src/options/parse-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'gitplane-completion-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const scriptOf = (shell: 'bash' | 'zsh' | 'fish'): string => {
  const file = join(folder, `gitplane.${shell}`);
  writeFileSync(file, completionScript(shell, COMMAND_TABLE));
  return file;
};

function isHere(program: string): boolean {
  try {
    execFileSync(program, ['-c', ':'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Sequences of a terminal. */
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g');

const run = (program: string, args: readonly string[]): string[] =>
  execFileSync(program, args, { cwd: folder, encoding: 'utf8' }).split('\n').filter(Boolean).sort();

/** A command line whose last word is completed, and words that are offered and not offered. */
const CASES: readonly [line: string[], offered: string[], absent: string[]][] = [
  [['ser'], ['serve'], ['seal']],
  [['keys', ''], ['create', 'list', 'rotate', 'revoke'], ['serve']],
  [['help', 've'], ['version'], ['validate']],
  [['completion', ''], ['bash', 'zsh', 'fish'], ['serve']],
  [['validate', '-o', ''], ['text', 'json', 'sarif', 'github', 'gitlab'], ['serve']],
  [['serve', '--repo-t'], ['--repo-token', '--repo-token-file'], ['--listen']],
  [['keys', 'create', '--t'], ['--team', '--ttl'], ['--data-dir']],
  [['keys', 'list', '--u'], [], ['--user']],
];

function expectOffers(found: readonly string[], offered: string[], absent: string[]): void {
  expect(found).toEqual(expect.arrayContaining(offered));
  expect(found.filter((word) => absent.includes(word))).toEqual([]);
}

describe.skipIf(!isHere('bash'))('bash', () => {
  const complete = (words: readonly string[]): string[] => {
    const line = ['gitplane', ...words].map((word) => `'${word}'`).join(' ');
    const script = `source ${scriptOf('bash')}; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _gitplane; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return run('bash', ['--norc', '-c', script]);
  };

  test.each(CASES)('%j', (words, offered, absent) => {
    expectOffers(complete(words), offered, absent);
  });

  test('files and folders where an option or an operand names them', () => {
    writeFileSync(join(folder, 'my token.txt'), '');

    expect(complete(['serve', '--repo-token-file', 'my'])).toEqual(['my token.txt']);
    expect(complete(['serve', '--data-dir', 'my'])).toEqual([]);
    expect(complete(['validate', 'my'])).toEqual(['my token.txt']);
    expect(complete(['validate', '-o', '=', 'js'])).toEqual(['json']);
  });
});

describe.skipIf(!isHere('fish'))('fish', () => {
  test.each(CASES)('%j', (words, offered, absent) => {
    const line = ['gitplane', ...words].join(' ');
    const script = `source ${scriptOf('fish')}; complete -C '${line}'`;
    const found = run('fish', ['--no-config', '-c', script]).map(
      (text) => text.split('\t')[0] ?? '',
    );

    expectOffers(found, offered, absent);
  });
});

describe.skipIf(!isHere('zsh'))('zsh', () => {
  /** In a terminal of its own: completion of zsh works on the line that is edited. */
  const complete = (words: readonly string[]): string[] => {
    const line = ['gitplane', ...words].join(' ');
    const script = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source ${scriptOf('zsh')}"
      zpty -w shell "stty columns 200 rows 200; bindkey '^I' list-choices; print READY"
      zpty -r -m shell text '*READY*READY*'
      zpty -w -n shell ${JSON.stringify(line)}$'\\t\\n\\nprint DONE\\n'
      text=; while zpty -r shell part '*'$'\\n'; do text+=$part; [[ $part == DONE* ]] && break; done
      zpty -d shell
      print -r -- $text`;
    const text = execFileSync('zsh', ['-f', '-c', script], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 20_000,
    });
    return text.replaceAll(ESCAPES, ' ').split(/\s+/).filter(Boolean);
  };

  test('the script has no mistake', () => {
    execFileSync('zsh', ['-n', scriptOf('zsh')]);
  });

  test.each(CASES.filter(([, offered]) => offered.length > 1))('%j', (words, offered, absent) => {
    expectOffers(complete(words), offered, absent);
  });
});

test.each(['bash', 'zsh', 'fish'])('%s is a shell, and others are refused', (shell) => {
  expect(readShell(parseOptions([], [shell], {}))).toBe(shell);
  expect(() => readShell(parseOptions([], [`${shell}x`], {}))).toThrow(/use bash, zsh or fish/);
});
