import type { ReactNode } from 'react';

const svg = (children: ReactNode, filled = false) => (
  <svg
    className="icon"
    viewBox="0 0 16 16"
    width="14"
    height="14"
    aria-hidden="true"
    fill={filled ? 'currentColor' : 'none'}
    stroke={filled ? 'none' : 'currentColor'}
    strokeWidth="1.7"
    strokeLinecap="round"
    strokeLinejoin="round"
  >
    {children}
  </svg>
);

/** One drawing each, told apart by form as well as by colour. */
export const ICONS = {
  ok: svg(<path d="M3 8.5l3.2 3.2L13 4.8" />),
  work: svg(<path d="M8 2a6 6 0 1 1-5.6 3.8" />),
  warning: svg(<path d="M8 2.2l6.2 11.3H1.8zM8 6.6v3M8 11.6v.1" />),
  error: svg(<path d="M4 4l8 8M12 4l-8 8" />),
  pause: svg(<path d="M5.5 3.5v9M10.5 3.5v9" />),
  remove: svg(<path d="M3 8h10" />),
  wait: svg(<path d="M8 4.5V8l2.3 1.6M8 2a6 6 0 1 0 .1 0" />),
  clusters: svg(<path d="M2.5 3.5h11v3.6h-11zM2.5 9h11v3.6h-11zM5 5.3v.1M5 10.8v.1" />),
  plug: svg(<path d="M5.5 2.5v3M10.5 2.5v3M4 5.5h8v2.2a4 4 0 0 1-8 0zM8 11.8v2" />),
  list: svg(<path d="M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4v.1M2.5 8v.1M2.5 12v.1" />),
  plus: svg(<path d="M8 3v10M3 8h10" />),
  search: svg(<path d="M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.4 10.4l3.2 3.2" />),
  moon: svg(<path d="M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z" />),
  out: svg(<path d="M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6" />),
  next: svg(<path d="M6 3.5L10.5 8 6 12.5" />),
  up: svg(<path d="M4 9.5L8 5.5l4 4" />),
  down: svg(<path d="M4 6.5l4 4 4-4" />),
  person: svg(<path d="M8 8a2.6 2.6 0 1 0 0-5.2A2.6 2.6 0 0 0 8 8zM3 13.5c.6-2.6 2.6-3.6 5-3.6s4.400 1 5 3.600" />),
  gear: svg(
    <path d="M8 5.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5M8 1.800v1.700M8 12.500v1.700M1.800 8h1.700M12.500 8h1.700" />,
  ),
  play: svg(<path d="M5 3.200v9.600L12.600 8z" />, true),
} as const satisfies Record<string, ReactNode>;
export type IconName = keyof typeof ICONS;
