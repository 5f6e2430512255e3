import { defineConfig } from "vitest/config";

// `npm run dev` shows the pages in front of the mock server (`npm run mock`) or a real one:
// CONSOLE=http://127.0.0.1:5050 npm run dev
const server = process.env.CONSOLE ?? "http://127.0.0.1:5051";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 300,
  },
  server: {
    proxy: { "/api": { target: server, changeOrigin: true, headers: { origin: server } } },
  },
  test: {
    // Each file of the browser's tests has a Chromium of its own.
    minWorkers: 1,
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.{ts,tsx}"] } },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // A machine that does other work too may miss a moment that a test waits for.
          retry: 2,
        },
      },
    ],
  },
});
