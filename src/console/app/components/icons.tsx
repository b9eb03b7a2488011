/** Icons: strokes on a grid of 24, in the color of the text. They are decoration; texts name the action. */
import type { JSX } from 'preact';

const PATHS = {
  home: 'M4 11.5 12 5l8 6.5V20h-5.5v-5h-5v5H4z',
  objects: 'M12 3.5 20 8v8l-8 4.5L4 16V8zM4 8l8 4.5L20 8M12 12.5v8',
  history: 'M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4.5v4h4M12 8v4.5l3 2',
  plan: 'M6.5 8.5v7M6.5 8.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6.5 19.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM17.5 8.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM17.5 8.5c0 4-11 3-11 7',
  access: 'M8.5 15.5a4 4 0 1 1 3.7-2.5L20 13v3h-2.5v2.5H14v-3.2l-2-1.3M8 11.5h.01',
  tenants: 'M4 6.5h16v4.5H4zM4 13h16v4.5H4zM7 8.7h.01M7 15.2h.01',
  config:
    'M4 7h9M17 7h3M4 17h3M11 17h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  audit: 'M7 4h10v16H7zM10 8h4M10 12h4M10 16h2',
  costs: 'M5 19.5h14M7 16v-5M12 16V6M17 16v-7',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.3 15.3 20 20',
  star: 'm12 4 2.5 5.2 5.6.7-4.1 3.9 1 5.6-5-2.7-5 2.7 1-5.6-4.1-3.9 5.6-.7z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  alert: 'M12 4 21 19.5H3zM12 10v4.5M12 17h.01',
  info: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 11.500v4.5M12 8h.01',
  clock: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 7.5V12l3 2',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5',
  edit: 'm14.5 5.5 4 4L8 20H4v-4z',
  external: 'M14 4h6v6M20 4l-9 9M17 14v6H4V7h6',
  chevron: 'm9 5 7 7-7 7',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  display: 'M4 5h16v11H4zM9 20h6M12 16v4',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
  undo: 'M8 5 4 9l4 4M4 9h10a5.5 5.5 0 0 1 0 11h-4',
  plus: 'M12 5v14M5 12h14',
  trash: 'M5 7h14M10 7V4.500h4V7M7 7l1 13h8l1-13',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill={filled ? 'currentColor' : 'none'}
        stroke="currentColor"
        stroke-width="1.75"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

/** The mark of the product: two commits, and one that branched off. */
export function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <g fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round">
        <path d="M10 11v10M22 15c0 5-12 3-12 7" />
        <circle cx="10" cy="7.5" r="3.5" />
        <circle cx="10" cy="24.5" r="3.5" />
        <circle cx="22" cy="11.5" r="3.5" />
      </g>
    </svg>
  );
}
