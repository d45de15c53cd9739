import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What a real tool printed when it was asked by this command (record.sh). Throws where nothing was recorded. */
export const recorded = (file: string, command: string): string => {
  const text = readFileSync(fileURLToPath(new URL(file, import.meta.url)), 'utf8');
  const answer = text.split(/^\$ /m).find((part) => part.startsWith(`${command}\n`) || part.startsWith(`${command} `));
  if (answer === undefined) throw new Error(`${file} has no answer of ${command}`);
  return answer.slice(answer.indexOf('\n') + 1);
};
