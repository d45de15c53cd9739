import { statSync } from 'node:fs';
import { dirname } from 'node:path';

const OTHERS_MAY_ENTER = 0o001;

/** Whether a user who owns nothing on the path can get into the folder. (A folder under a home of mode 0700 is out of reach.) */
export const isOpenToOthers = (folder: string): boolean => {
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & OTHERS_MAY_ENTER) === 0) return false;
    if (at === dirname(at)) return true;
  }
};
