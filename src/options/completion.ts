/** Completion scripts for bash, zsh and fish, generated from the table of commands. */
import { type CommandSpec, type CommandTable, optionsOf } from './command-spec.ts';
import { inWords, type OptionSpec } from './option-spec.ts';
import { type ParsedOptions, UsageError } from './parse-options.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

/** The shell that the operand names. Throws UsageError. */
export function readShell({ operands: [given] }: ParsedOptions): Shell {
  const shell = SHELLS.find((candidate) => candidate === given);
  if (shell !== undefined) return shell;
  throw new UsageError(`There is no completion for "${given}": use ${inWords(SHELLS)}`);
}

/** Words that can follow one command, or one action of it. */
interface Place {
  /** `keys` or `keys create`. */
  readonly path: string;
  readonly summary: string;
  /** Actions, by their summary. */
  readonly words: readonly (readonly [string, string])[];
  readonly takesFiles: boolean;
  readonly options: readonly OptionSpec[];
}

const HELP: readonly OptionSpec[] = [
  { name: 'help', short: 'h', help: 'print this help' },
  { name: 'version', short: 'v', help: 'print the version' },
];

/** Words in place of files, by command. */
const OPERANDS: Readonly<Record<string, readonly string[]>> = { completion: SHELLS };

export function completionScript(shell: Shell, table: CommandTable): string {
  const places = placesIn(table);
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](places);
}

function placesIn(table: CommandTable): Place[] {
  const names = Object.entries(table).map(([name, { summary }]) => [name, summary] as const);
  const all = [...names, ['help', 'print the help of a command'] as const];
  const top: Place = { path: '', summary: '', words: all, takesFiles: false, options: HELP };
  const help: Place = { ...top, path: 'help', words: names };
  return [top, help, ...Object.entries(table).flatMap(placesOf)];
}

function placesOf([name, spec]: [string, CommandSpec]): Place[] {
  const actions = Object.entries(spec.actions ?? {});
  const words = (OPERANDS[name] ?? []).map((word) => [word, ''] as const);
  const own: Place = {
    path: name,
    summary: spec.summary,
    words: [...words, ...actions.map(([action, { summary }]) => [action, summary] as const)],
    takesFiles: takesFiles(spec.operands),
    options: [...(actions.length > 0 ? [] : spec.options), ...HELP],
  };
  const below = actions.map(([action, { summary, operands }]) => ({
    path: `${name} ${action}`,
    summary,
    words: [],
    takesFiles: takesFiles(operands),
    options: [...optionsOf(spec, action), ...HELP],
  }));
  return [own, ...below];
}

const takesFiles = (operands = ''): boolean => operands.includes('PATH');

/** Kind of value, by the placeholder in the help. */
function valueKind({ value, choices }: OptionSpec): 'none' | 'words' | 'files' | 'folders' | 'any' {
  if (value === undefined) return 'none';
  if (choices !== undefined) return 'words';
  if (value === 'FILE') return 'files';
  return value === 'DIR' ? 'folders' : 'any';
}

const flagsOf = ({ name, short }: OptionSpec): string[] => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
];

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function bashScript(places: readonly Place[]): string {
  const cases = places.map(({ path, words, takesFiles: files, options }) => {
    const flags = options.flatMap(flagsOf);
    const offered = [...words.map(([word]) => word), ...flags].join(' ');
    return `    ${quoted(path)}) words=${quoted(offered)}; files=${files ? 1 : 0} ;;`;
  });
  const values = valueCases(places, ([path, flag], option) => {
    const kind = valueKind(option);
    const action = {
      none: '',
      words: `words=${quoted((option.choices ?? []).join(' '))}`,
      files: 'files=1',
      folders: 'files=2',
      any: ':',
    }[kind];
    return `    ${quoted(`${path} ${flag}`)}) value=1; ${action} ;;`;
  });
  const paths = places.map(({ path }) => path).filter(Boolean);
  return `# bash completion of gitplane: source <(gitplane completion bash)
_gitplane() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local path='' word words='' files=0 value=0 i
  # In COMP_WORDS the sign of --flag=value is a word.
  if [[ $current == '=' ]]; then current=''
  elif [[ $previous == '=' ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${path:+$path }$word" in
${[...new Set(paths)].map((path) => `      ${quoted(path)}) path=${quoted(path)} ;;`).join('\n')}
    esac
  done
  case "$path $previous" in
${values.join('\n')}
  esac
  if ((value == 0)); then
    case "$path" in
${cases.join('\n')}
    esac
  fi
  COMPREPLY=()
  [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if ((files > 0)) && [[ $current != -* ]]; then
    compopt -o filenames 2>/dev/null
    local kind=-f
    ((files == 2)) && kind=-d
    local -a found
    mapfile -t found < <(compgen $kind -- "$current")
    COMPREPLY+=("\${found[@]}")
  fi
}
complete -F _gitplane gitplane
`;
}

/** One line per flag that takes a value. */
function valueCases(
  places: readonly Place[],
  line: (at: readonly [path: string, flag: string], option: OptionSpec) => string,
): string[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter((option) => valueKind(option) !== 'none')
      .flatMap((option) => flagsOf(option).map((flag) => line([path, flag], option))),
  );
}

function zshScript(places: readonly Place[]): string {
  const described = ([word, summary]: readonly [string, string]): string =>
    quoted(summary === '' ? word : `${word}:${summary.replaceAll(':', '\\:')}`);
  const action = (option: OptionSpec): string => {
    const { value = '', choices = [] } = option;
    const kinds = {
      none: '',
      words: `:${value}:(${choices.join(' ')})`,
      files: `:${value}:_files`,
      folders: `:${value}:_files -/`,
      any: `:${value}:`,
    };
    return kinds[valueKind(option)];
  };
  const escaped = (text: string): string =>
    text.replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', '\\:');
  const spec = (option: OptionSpec): string[] =>
    flagsOf(option).map((flag) => quoted(`*${flag}[${escaped(option.help)}]${action(option)}`));
  const cases = places.map(({ path, words, takesFiles: files, options }) => {
    const offers = words.length > 0 ? `\n      words=(${words.map(described).join(' ')})` : '';
    const operand = files ? `'*:file:_files'` : `'*:operand:_gitplane_words'`;
    return `    ${quoted(path)})${offers}
      _arguments -S ${[...options.flatMap(spec), operand].join(' \\\n        ')} ;;`;
  });
  const paths = places.map(({ path }) => path).filter(Boolean);
  return `#compdef gitplane
# zsh completion of gitplane: a file _gitplane in a folder of $fpath
_gitplane_words() { (( \${#words_of} )) && _describe -t words word words_of }
_gitplane() {
  local path_of='' word count=0
  local -a words_of
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    case "\${path_of:+$path_of }\${words[i]}" in
${[...new Set(paths)].map((path) => `      ${quoted(path)}) path_of=${quoted(path)} ;;`).join('\n')}
    esac
  done
  case "$path_of" in
${cases.join('\n').replaceAll('\n      words=(', '\n      words_of=(')}
  esac
}
if [[ $funcstack[1] == _gitplane ]]; then _gitplane "$@"; else compdef _gitplane gitplane; fi
`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, takesFiles: files, options }) => {
    const at = `-n ${quoted(`__gitplane_at ${quoted(path)}`)}`;
    return [
      `complete -c gitplane ${at} ${files ? '-F' : '-f'}`,
      ...words.map(
        ([word, summary]) => `complete -c gitplane ${at} -a ${word} -d ${quoted(summary)}`,
      ),
      ...options.map((option) => {
        const short = option.short === undefined ? '' : ` -s ${option.short}`;
        const value = {
          none: '',
          words: ` -x -a ${quoted((option.choices ?? []).join(' '))}`,
          files: ' -r -F',
          folders: " -x -a '(__fish_complete_directories)'",
          any: ' -x',
        }[valueKind(option)];
        return `complete -c gitplane ${at} -l ${option.name}${short}${value} -d ${quoted(option.help)}`;
      }),
    ];
  });
  const paths = places.map(({ path }) => path).filter(Boolean);
  return `# fish completion of gitplane: a file gitplane.fish in ~/.config/fish/completions
function __gitplane_path
    set -l path ''
    for word in (commandline -opc)[2..-1]
        switch (string trim -- "$path $word")
${[...new Set(paths)].map((path) => `            case ${quoted(path)}\n                set path ${quoted(path)}`).join('\n')}
        end
    end
    echo $path
end
function __gitplane_at
    test (__gitplane_path) = "$argv[1]"
end
complete -c gitplane -f
${lines.join('\n')}
`;
}
