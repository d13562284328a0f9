"""The look of the page: colors, the template around the parts, and the style inside them."""

from __future__ import annotations

# The palette of Okabe and Ito: distinct with every kind of color vision, and in gray.
CLASS_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
INK, MUTED, LINE = "#1d2733", "#5d6b7a", "#d9dfe6"

#: Font of the system; nothing is loaded.
FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"

#: Inside the parts, which are islands that the style of the page does not reach.
INNER = f"""
:host {{ font-family: {FONT}; color: {INK}; font-size: 14px; line-height: 1.45; }}
:host .bk-clearfix {{ width: 100%; }}
h3 {{ margin: 0 0 2px; font-size: 16px; }}
p {{ margin: 0 0 6px; }}
.try {{ background: #fff7e6; border-left: 3px solid #E69F00; padding: 6px 10px; border-radius: 0 4px 4px 0; margin: 0; }}
.error {{ color: #9c2f00; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12.5px;
         font-family: ui-monospace, 'DejaVu Sans Mono', monospace; }}
.muted {{ color: {MUTED}; font-size: 13px; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 0; }}
dt {{ color: {MUTED}; }} dd {{ margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
.badge {{ display: inline-block; padding: 1px 10px; border-radius: 10px; color: white; font-weight: 600; font-size: 13px; }}
.valid {{ background: #00734f; }} .invalid {{ background: #b23a00; }} .unproven {{ background: #8a6100; }}
pre {{ margin: 6px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12.5px; line-height: 1.4;
      max-height: 220px; overflow: auto; font-family: ui-monospace, 'DejaVu Sans Mono', monospace; }}
"""

#: The buttons of the classes carry their colors.
BUTTONS = "\n".join(
    f".bk-btn:nth-child({i}) {{ border-bottom: 4px solid {color}; }}" for i, color in enumerate(CLASS_COLORS, 1)
)

FORMULA = f":host {{ color: {INK}; font-size: 15px; overflow-x: auto; overflow-y: hidden; padding: 4px 0; }}"

CODE = """
:host pre { white-space: pre; overflow: auto; max-height: 420px; font-size: 12.5px; background: #f4f6f8; padding: 10px;
            border-radius: 6px; margin: 0; font-family: ui-monospace, 'DejaVu Sans Mono', monospace; }
"""

TEMPLATE = f"""
{{% block preamble %}}
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  html, body {{ margin: 0; background: #eef1f4; color: {INK}; font-family: {FONT}; height: auto; }}
  header {{ background: #16324a; color: white; padding: 8px 18px; display: flex; align-items: center; gap: 18px;
           flex-wrap: wrap; }}
  header h1 {{ font-size: 20px; margin: 0; letter-spacing: 0.2px; }}
  header .tools {{ margin-left: auto; min-width: 0; flex: 0 1 560px; }}
  main {{ display: grid; gap: 12px; padding: 12px; max-width: 1640px; margin: 0 auto; box-sizing: border-box;
         grid-template-columns: minmax(270px, 320px) minmax(0, 1.15fr) minmax(0, 1fr); align-items: start; }}
  .tour {{ grid-column: 1 / -1; }}
  .stack {{ display: grid; gap: 12px; min-width: 0; }}
  section {{ background: white; border: 1px solid {LINE}; border-radius: 8px; padding: 10px 14px; min-width: 0;
            overflow: hidden; }}
  section > h2 {{ font-size: 13px; text-transform: uppercase; letter-spacing: 0.6px; color: {MUTED}; margin: 0 0 6px; }}
  @media (max-width: 1100px) {{
    main {{ grid-template-columns: minmax(250px, 300px) minmax(0, 1fr); }} .right {{ grid-column: 1 / -1; }}
  }}
  @media (max-width: 760px) {{
    main {{ grid-template-columns: minmax(0, 1fr); padding: 8px; }} .middle {{ order: -1; }} .tour {{ order: -2; }}
    header .tools {{ margin-left: 0; flex-basis: 100%; }}
  }}
</style>
{{% endblock %}}
{{% block contents %}}
<header><h1>mercer lab</h1><div class="tools">{{{{ embed(roots.tools) }}}}</div></header>
<main>
  <section class="tour">{{{{ embed(roots.tour) }}}}</section>
  <div class="stack left">
    <section><h2>Data</h2>{{{{ embed(roots.data) }}}}</section>
    <section><h2>Algorithm</h2>{{{{ embed(roots.algorithm) }}}}</section>
    <section><h2>Kernel</h2>{{{{ embed(roots.kernel) }}}}</section>
  </div>
  <div class="stack middle">
    <section>{{{{ embed(roots.picture) }}}}</section>
    <section>{{{{ embed(roots.code) }}}}</section>
  </div>
  <div class="stack right">
    <section><h2>Side view</h2>{{{{ embed(roots.view) }}}}</section>
    <section><h2>Is it a kernel?</h2>{{{{ embed(roots.proof) }}}}</section>
  </div>
</main>
{{{{ embed(roots.address) }}}}
{{% endblock %}}
"""
