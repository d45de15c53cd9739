import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newFolder, removeFolder } from './folders.js';
import { projectFiles } from './project.files.js';

describe('the files of the project', () => {
  let root = '';

  const writes = (path: string, text = ''): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  beforeEach(() => {
    root = newFolder('project');
    writes('.gitignore', '# Built.\nnode_modules/\nlibs/client/generated/\n*.log\n');
    for (const path of ['a.ts', 'libs/client/b.ts', 'libs/client/generated/c.ts', 'node_modules/d.ts', 'libs/x.log'])
      writes(path);
    writes('apps/e/node_modules/f.ts');
    writes('apps/generated/g.ts');
    writes('.git/h.ts');
  });

  afterEach(() => removeFolder(root));

  it('are those that no .gitignore rule matches, in each folder', () => {
    expect(projectFiles(root, '*')).toEqual(['.gitignore', 'a.ts', 'apps/generated/g.ts', 'libs/client/b.ts']);
  });

  it('match a pattern as in git, where a star also matches a slash', () => {
    expect(projectFiles(root, 'libs/*.ts', 'a.ts')).toEqual(['a.ts', 'libs/client/b.ts']);
  });

  it('are not guessed from an unsupported .gitignore', () => {
    writes('.gitignore', '!kept\n');
    expect(() => projectFiles(root, '*')).toThrow('.gitignore: "!kept" has a form that projectFiles does not read');
  });
});
