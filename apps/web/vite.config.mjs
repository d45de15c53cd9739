import { defineConfig } from 'vite';

/** One document with hashed files beside it; what only some views need is loaded with them. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // Warnings are about directives of packages that only servers use.
  logLevel: 'error',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: 'dist/page',
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
