import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `mayavi serve` serves the API at the root and the dashboard below /app/, from one origin.
export default defineConfig({
  base: "/app/",
  plugins: [react()],
  build: {
    outDir: "../mayavi/api/dashboard",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // the content security policy allows files of this origin only
    chunkSizeWarningLimit: 2000,
    manifest: "manifest.json",
  },
  server: {
    port: 5173,
    // Everything but the dashboard goes to the service. The host stays, so that the check of the origin passes.
    proxy: { "^/(?!app/)": { target: process.env.MAYAVI_URL ?? "http://127.0.0.1:8420", changeOrigin: false } },
  },
});
