package svg

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// The inks of all pictures. Four of the clients' colours are from Okabe and Ito's palette, which
// people with any kind of colour vision can tell apart.
var (
	Paper = RGB(0xFFFFFF)
	Ink   = RGB(0x1F2328)
	Muted = RGB(0x656D76)
	Rule  = RGB(0xD0D7DE)
	Wash  = RGB(0xF3F5F7)
	Alarm = RGB(0xC8102E)
	Doubt = RGB(0x9A6700)
	// OnInk is for text on colours that do not change between light and dark pages.
	OnInk = RGB(0xFAFAFA)

	ClientInks = []color.NRGBA{
		RGB(0x0072B2), RGB(0xE69F00), RGB(0x009E73), RGB(0xB05C94),
		RGB(0x56B4E9), RGB(0x8C6D31), RGB(0x3D8F8F), RGB(0x7A68C9),
	}
)

// RGB returns the colour 0xRRGGBB.
func RGB(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF}
}

// Color parses "#rrggbb"; it returns grey for any other text.
func Color(s string) color.NRGBA {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	if err != nil || len(s) != 7 {
		return RGB(0x8C959F)
	}
	return RGB(uint32(n))
}

// Hex returns a colour as "#RRGGBB".
func Hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// Alpha returns the colour at an opacity between 0 and 1.
func Alpha(c color.NRGBA, a float64) color.NRGBA {
	c.A = uint8(math.Round(a * 255))
	return c
}

// snap returns the hex colour of the ink that differs from s by at most two per channel, else s.
func snap(s string) string {
	c := Color(s)
	inks := append([]color.NRGBA{Paper, Ink, Muted, Rule, Wash, Alarm, Doubt}, ClientInks...)
	for _, i := range inks {
		if near(c.R, i.R) && near(c.G, i.G) && near(c.B, i.B) {
			return Hex(i)
		}
	}
	return s
}

func near(a, b uint8) bool { return max(a, b)-min(a, b) <= 2 }
