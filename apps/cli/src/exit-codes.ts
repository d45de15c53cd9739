/**
 * The result classes of commands, so that scripts can distinguish a refusal from an unreachable server. The numbers are
 * stable.
 */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'the operation failed' },
  usage: { code: 2, meaning: 'invalid usage' },
  unreachable: { code: 3, meaning: 'the server cannot be reached' },
  unauthorised: { code: 4, meaning: 'not authorized: the token is missing, invalid or lacks the role' },
  'not-found': { code: 5, meaning: 'the resource does not exist' },
  conflict: { code: 6, meaning: 'conflict: a name is taken, the state does not allow it, or a folder is in use' },
  refused: { code: 7, meaning: 'the server refused the request' },
  'timed-out': { code: 8, meaning: 'timed out; the operation continues on the server' },
  halted: { code: 9, meaning: 'a rule halted a rollout; an operator must decide how to continue' },
  interrupted: {
    code: 130,
    meaning: 'interrupted by Ctrl-C, also what is followed without an end; an operation continues on the server',
  },
} as const;

export type ExitClass = keyof typeof EXIT_CODES;
export const EXIT_CLASSES = Object.keys(EXIT_CODES) as readonly ExitClass[];

export type ExitCode = (typeof EXIT_CODES)[ExitClass]['code'];

export const exitCodeOf = (exit: ExitClass): ExitCode => EXIT_CODES[exit].code;

/** Codes of responses that mean that the server is temporarily unavailable. */
const UNAVAILABLE: readonly string[] = ['system.unavailable', 'wait.too-long'];

/**
 * The class of an unsuccessful HTTP response. 503 means that a service behind the gateway is unavailable, unless `code`
 * gives another reason.
 */
export const exitClassOfStatus = (status: number, code?: string): ExitClass => {
  if (status === 401 || status === 403) return 'unauthorised';
  if (status === 404) return 'not-found';
  if (status === 409) return 'conflict';
  if (status === 502 || status === 503 || status === 504)
    return code === undefined || UNAVAILABLE.includes(code) ? 'unreachable' : 'failed';
  return status >= 400 && status < 500 ? 'refused' : 'failed';
};
