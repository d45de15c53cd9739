const MARK = 'FAIRLEAD-RESULT ';

/** The structured result in what a script printed: its last marked line. undefined: there is none, or it is not JSON. */
export const parseResult = (stdout: string): unknown => {
  const line = stdout.split('\n').findLast((candidate) => candidate.startsWith(MARK));
  if (line === undefined) return undefined;
  try {
    return JSON.parse(line.slice(MARK.length)) as unknown;
  } catch {
    return undefined;
  }
};
